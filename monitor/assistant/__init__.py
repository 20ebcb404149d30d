"""What a language model's program may ask of the service, over the Model Context Protocol."""
