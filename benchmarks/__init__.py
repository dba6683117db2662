"""Measurements of Pointsman beside what its users would use instead; not part of the package."""
