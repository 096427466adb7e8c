"""Tables, figures and text for people, made from rows of plain data."""
