"""What the model is told in a research, as wordings that an administrator may put others in place of."""
