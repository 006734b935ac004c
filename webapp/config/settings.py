"""Django settings. Everything that differs between installations comes from the environment (README lists it)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import structlog
from csp.constants import NONE, SELF, UNSAFE_INLINE
from django.utils.translation import gettext_lazy as _

from webapp.config import environment

ROOT = Path(__file__).resolve().parents[2]
HOME = environment.home_folder(ROOT)

DEBUG = environment.flag("DEBUG")
SECRET_KEY = environment.secret_key(HOME)
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = environment.words("CSRF_TRUSTED_ORIGINS", "")
REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
DATABASES = {"default": environment.database(HOME)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_vite",
    "ninja",
    "webapp.common",
    "webapp.accounts",
    "webapp.workspaces",
    "webapp.operators",
    "webapp.preview",
    "webapp.jobs",
    "webapp.hosts",
    "webapp.leaderboard",
    "webapp.live",
    "webapp.pages",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.gzip.GZipMiddleware",  # previews are long texts, and some people sit far away
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "webapp.accounts.middleware.preferred_language",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "webapp.config.urls"
ASGI_APPLICATION = "webapp.config.asgi.application"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# People and sessions
AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/sign-in"
LOGIN_REDIRECT_URL = "/operators"
SESSION_COOKIE_AGE = 30 * 24 * 3600
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "webapp.pages.views.csrf_refused"
SECURE_COOKIES = environment.flag("SECURE_COOKIES")  # on behind HTTPS
SESSION_COOKIE_SECURE = SECURE_COOKIES
CSRF_COOKIE_SECURE = SECURE_COOKIES
if environment.flag("BEHIND_PROXY"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SIGN_IN_ATTEMPTS = 10  # failures per address and per name ...
SIGN_IN_WINDOW_S = 900  # ... within this time

CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}}

# Pages
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [ROOT / "webapp" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
APPEND_SLASH = False

FRONTEND_BUILD = ROOT / "frontend" / "dist"
FRONTEND_MANIFEST = FRONTEND_BUILD / "manifest.json"
STATIC_URL = "/static/"
STATIC_ROOT = HOME / "static"
STATIC_ROOT.mkdir(exist_ok=True)
STATICFILES_DIRS = [FRONTEND_BUILD] if FRONTEND_BUILD.is_dir() else []
WHITENOISE_USE_FINDERS = True  # serves straight from the apps: no collectstatic step on one machine
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/assets/.+-[0-9A-Za-z_-]{8}\.\w+$"  # Vite puts a digest into names
VITE_DEV = environment.flag("VITE_DEV")  # take the front end from `npm run dev`, which reloads while one edits
VITE_DEV_PORT = 5173
VITE_ORIGINS = [f"http://127.0.0.1:{VITE_DEV_PORT}", f"ws://127.0.0.1:{VITE_DEV_PORT}"] if VITE_DEV else []
DJANGO_VITE = {
    "default": {
        "dev_mode": VITE_DEV,
        "dev_server_host": "127.0.0.1",
        "dev_server_port": VITE_DEV_PORT,
        "manifest_path": FRONTEND_MANIFEST,
    }
}
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, *VITE_ORIGINS],
        "style-src": [SELF, UNSAFE_INLINE, *VITE_ORIGINS],  # CodeMirror and Plotly write style elements
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "connect-src": [SELF, *VITE_ORIGINS],
        "worker-src": [SELF, "blob:"],
        "object-src": [NONE],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    },
}
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1 << 20

# Previews and jobs
SOURCE_LIMIT_BYTES = 64 * 1024
PREVIEW_PROCESSES = int(os.environ.get("PREVIEW_PROCESSES", "2"))
PREVIEW_SECONDS = float(os.environ.get("PREVIEW_SECONDS", "5"))
PREVIEW_MEMORY_BYTES = 4 << 30
JOB_LEASE_S = 30.0
JOB_ATTEMPTS = 3
JOBS_WAITING_LIMIT = 100  # per workspace
HOST_TTL_S = 15

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "lines": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processor": structlog.dev.ConsoleRenderer(colors=False),
            "foreign_pre_chain": [
                structlog.stdlib.add_logger_name,
                structlog.stdlib.add_log_level,
                structlog.processors.TimeStamper(fmt="iso"),
            ],
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "lines"}},
    "root": {"handlers": ["console"], "level": os.environ.get("LOG_LEVEL", "INFO")},
}
structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.processors.format_exc_info,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
