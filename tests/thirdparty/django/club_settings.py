"""A club's administration by Django's own admin pages, as small as it can be."""

import os
from pathlib import Path

HOME = Path(os.environ["CLUB_HOME"])
SECRET_KEY = "of a test"
DEBUG = True
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "club",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "club.urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": HOME / "club.sqlite3"}}
STATIC_URL = "/static/"
MEDIA_URL, MEDIA_ROOT = "/media/", HOME / "media"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
