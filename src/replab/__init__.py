"""replab"""
