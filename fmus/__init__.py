"""FMI shells around the models. A unit is an `.fmu` file; other rooms meet it there."""
