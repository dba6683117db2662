"""Who may publish and subscribe to what."""
