"""Reports of studies: tables, figures, pages."""
