"""lp_gadgets: hard instances for halfspace agreement, as explicit LP datasets."""
