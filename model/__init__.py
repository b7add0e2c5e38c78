"""The specification of both protocols, pure and in memory."""
