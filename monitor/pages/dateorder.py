"""Which of day and month comes first in numeric dates, by the custom of the country whose host it is."""

from urllib.parse import urlsplit

from monitor.pages.calendar import Order

# Names that only the United States hand out.
_MONTH_FIRST = frozenset({"gov", "mil", "edu", "us"})
# Countries of one custom: Canada and others write both ways, and .co, .io or .tv are sold to everybody.
_DAY_FIRST = frozenset(
    {"ar", "at", "au", "be", "bg", "br", "ch", "cl", "cz", "de", "es", "fi", "fr", "gr", "hr", "id", "ie", "il", "in"}
    | {"it", "ke", "lu", "mx", "my", "ng", "nl", "no", "nz", "pe", "pl", "pt", "ro", "rs", "ru", "sg", "sk", "th", "tr"}
    | {"ua", "uk", "uy", "vn", "za"}
)


# Languages whose countries all write the day first; with some, as Swedish, the year comes first as often.
_DAY_FIRST_LANGUAGES = frozenset(
    {"bg", "cs", "da", "de", "el", "es", "fi", "it", "nb", "nl", "no", "pl", "pt", "ro", "ru", "sk", "tr", "uk", "vi"}
)


def customary_order(url: str, language: str = "") -> Order | None:
    """The order in which the country of a host writes its dates; None where neither name nor language tells it.

    `language` is what the page declares (`de-AT`); it counts where the host's name tells no country.
    """
    country = (urlsplit(url).hostname or "").rpartition(".")[2]
    if country in _MONTH_FIRST:
        return "mdy"
    spoken = language.lower().replace("_", "-").partition("-")[0]
    return "dmy" if country in _DAY_FIRST or spoken in _DAY_FIRST_LANGUAGES else None
