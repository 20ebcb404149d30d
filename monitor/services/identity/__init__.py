"""How people sign in beside a password: a provider of OpenID Connect."""
