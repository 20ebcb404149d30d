"""What a page says as an article: title, date, text, labels and metadata."""
