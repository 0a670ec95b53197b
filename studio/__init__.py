"""What a person touches: command line, scenarios, reports."""
