/* Functions that other tools look for in every unit; being weak, they give way to those that a unit defines itself. To
   begin and to end they do nothing; the others answer with an error. Steps and state are left out: some units are made
   to lack them. */
#define WEAK __attribute__((weak))
#define QUIET(name) WEAK int name(void) { return 0; }
#define ABSENT(name) WEAK int name(void) { return 3; }

WEAK const char *fmi2GetTypesPlatform(void) { return "default"; }
WEAK const char *fmi2GetVersion(void) { return "2.0"; }
QUIET(fmi2SetDebugLogging) QUIET(fmi2SetupExperiment) QUIET(fmi2EnterInitializationMode)
QUIET(fmi2ExitInitializationMode) QUIET(fmi2Terminate)
ABSENT(fmi2Reset) ABSENT(fmi2GetReal) ABSENT(fmi2GetInteger) ABSENT(fmi2GetBoolean) ABSENT(fmi2GetString)
ABSENT(fmi2SetReal) ABSENT(fmi2SetInteger) ABSENT(fmi2SetBoolean) ABSENT(fmi2SetString) ABSENT(fmi2GetDirectionalDerivative)
ABSENT(fmi2SetRealInputDerivatives) ABSENT(fmi2GetRealOutputDerivatives) ABSENT(fmi2CancelStep) ABSENT(fmi2GetStatus)
ABSENT(fmi2GetRealStatus) ABSENT(fmi2GetIntegerStatus) ABSENT(fmi2GetBooleanStatus) ABSENT(fmi2GetStringStatus)

WEAK const char *fmi3GetVersion(void) { return "3.0"; }
QUIET(fmi3SetDebugLogging) QUIET(fmi3EnterInitializationMode) QUIET(fmi3ExitInitializationMode) QUIET(fmi3Terminate)
ABSENT(fmi3Reset) ABSENT(fmi3EnterEventMode)
ABSENT(fmi3GetFloat32) ABSENT(fmi3GetFloat64) ABSENT(fmi3GetInt8) ABSENT(fmi3GetUInt8) ABSENT(fmi3GetInt16)
ABSENT(fmi3GetUInt16) ABSENT(fmi3GetInt32) ABSENT(fmi3GetUInt32) ABSENT(fmi3GetInt64) ABSENT(fmi3GetUInt64)
ABSENT(fmi3GetBoolean) ABSENT(fmi3GetString) ABSENT(fmi3GetBinary) ABSENT(fmi3GetClock) ABSENT(fmi3SetFloat32)
ABSENT(fmi3SetFloat64) ABSENT(fmi3SetInt8) ABSENT(fmi3SetUInt8) ABSENT(fmi3SetInt16) ABSENT(fmi3SetUInt16)
ABSENT(fmi3SetInt32) ABSENT(fmi3SetUInt32) ABSENT(fmi3SetInt64) ABSENT(fmi3SetUInt64) ABSENT(fmi3SetBoolean)
ABSENT(fmi3SetString) ABSENT(fmi3SetBinary) ABSENT(fmi3SetClock) ABSENT(fmi3GetNumberOfVariableDependencies)
ABSENT(fmi3GetVariableDependencies) ABSENT(fmi3GetDirectionalDerivative) ABSENT(fmi3GetAdjointDerivative)
ABSENT(fmi3EnterConfigurationMode) ABSENT(fmi3ExitConfigurationMode) ABSENT(fmi3GetIntervalDecimal)
ABSENT(fmi3GetIntervalFraction) ABSENT(fmi3GetShiftDecimal) ABSENT(fmi3GetShiftFraction)
ABSENT(fmi3SetIntervalDecimal) ABSENT(fmi3SetIntervalFraction) ABSENT(fmi3SetShiftDecimal)
ABSENT(fmi3SetShiftFraction) ABSENT(fmi3EvaluateDiscreteStates) ABSENT(fmi3UpdateDiscreteStates)
ABSENT(fmi3EnterContinuousTimeMode) ABSENT(fmi3CompletedIntegratorStep) ABSENT(fmi3SetTime)
ABSENT(fmi3SetContinuousStates) ABSENT(fmi3GetContinuousStateDerivatives) ABSENT(fmi3GetEventIndicators)
ABSENT(fmi3GetContinuousStates) ABSENT(fmi3GetNominalsOfContinuousStates) ABSENT(fmi3GetNumberOfEventIndicators)
ABSENT(fmi3GetNumberOfContinuousStates) ABSENT(fmi3EnterStepMode) ABSENT(fmi3GetOutputDerivatives)
ABSENT(fmi3ActivateModelPartition)

WEAK void *fmi3InstantiateModelExchange(void) { return 0; }
WEAK void *fmi3InstantiateScheduledExecution(void) { return 0; }
