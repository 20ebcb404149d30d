"""What the full-text index is made from."""

from sqlalchemy import Column, Text
from sqlmodel import Field, SQLModel


class ItemTerms(SQLModel, table=True):
    """The terms of an item's title, summary and text, each once, in one line; those of the title also marked as such.

    The database keeps its own index over this column (migration 0008), so that whatever writes a row keeps it right.
    """

    __tablename__ = "item_terms"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    terms: str = Field(sa_column=Column(Text, nullable=False))
