"""What the words mean: tables and plain values."""
