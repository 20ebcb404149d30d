"""Tables, queries by subject, migrations, backup and copy: the only room that knows SQLAlchemy."""
