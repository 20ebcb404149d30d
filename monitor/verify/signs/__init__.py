"""Signs for and against a statement: how its words, figures and actors stand on the page that is to bear it."""
