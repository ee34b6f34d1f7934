"""mytorch"""
