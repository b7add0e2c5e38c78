"""Ends and races real processes, and judges what they leave behind."""
