"""What a page shows as a list: its rows, their titles and dates, the next page."""
