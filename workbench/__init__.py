"""What a person uses: the command, its reports and its pictures."""
