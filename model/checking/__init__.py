"""What judges states, traces and histories by the specification."""
