"""A storage of studies as a service: an HTTP interface for instruments and other languages, and a
page for people. It needs the extra `server`.
"""
