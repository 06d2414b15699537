"""The views, one file each: what they send to the page, and what they answer."""
