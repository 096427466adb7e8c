"""HTTP service for the studies of a storage: an API for programs and web pages for people.

The service needs the extra `server`.
"""
