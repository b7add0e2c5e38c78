"""One module for each command of `admit-one`, named like the command."""
