"""The paper reproduced: its instances, figures and tables (Jourdan, Mutny, Kirschner, Krause, ALT 2021)."""
