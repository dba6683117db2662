"""Small helpers without a home elsewhere: JSON, times, secrets."""
