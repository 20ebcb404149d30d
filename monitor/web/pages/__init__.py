"""The pages: one module an area, HTML only."""
