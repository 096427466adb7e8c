"""What people see: tables, figures, words. Rows of plain data in, text and pictures out."""
