"""What is known of the services and servers that answer for models."""
