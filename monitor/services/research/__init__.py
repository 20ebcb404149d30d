"""Questions that are asked, carried out, watched and read again."""
