"""The tables, one module a subject, with the values that go in and out of them."""
