"""Pages as a person meets them: a real browser, at a phone's and a desk's size."""
