"""What is this deployment? One file, sections in order; every variable is listed in README."""

from pathlib import Path
from typing import Any

import dj_database_url
from csp.constants import NONE, SELF

from config import env
from sideeffects import transitions

BASE_DIR = Path(__file__).resolve().parent.parent

# -- Where things lie ---------------------------------------------------------------------------------------------
DATA_DIR = env.folder("TAKEBACK_DATA", BASE_DIR / "var")
DATA_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)  # the database in it holds sessions that are signed in

# -- The demonstration -------------------------------------------------------------------------------------------
# Demo people exist and may be entered as, on loopback only. `up` leaves the mark, so that every command on the folder's
# own database knows; a database named by DATABASE_URL is never taken for a demonstration by it.
DEMO_MARK = DATA_DIR / "demo"
DEMO = env.flag("TAKEBACK_DEMO", default=DEMO_MARK.exists() and not env.text("DATABASE_URL"))

# -- Security -----------------------------------------------------------------------------------------------------
DEBUG = False
SECRET_KEY = env.secret("TAKEBACK_SECRET_KEY", DATA_DIR / "keys" / "secret_key")
ALLOWED_HOSTS = env.words("TAKEBACK_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.words("TAKEBACK_ORIGINS", [])
HTTPS = env.flag("TAKEBACK_HTTPS")
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_REDIRECT_EXEMPT = ["^healthz$", "^readyz$"]  # asked by machines beside this one, which speak no TLS
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}

# -- What is installed --------------------------------------------------------------------------------------------
TAKEBACK_APPS = env.words("TAKEBACK_APPS", ["sideeffects.workspace"])  # local business objects and their adapters
INSTALLED_APPS = [
    "config.apps.ConfigConfig",
    "plans",
    "sideeffects",
    "audit",
    *TAKEBACK_APPS,
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "simple_history",
    "django_htmx",
    "axes",
    "csp",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.access.AccessMiddleware",
    "config.errors.RefusalMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "config.urls"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.navigation.navigation",
            ],
        },
    },
]
WSGI_APPLICATION = "config.wsgi.application"

# -- Database -----------------------------------------------------------------------------------------------------
DATABASES: dict[str, Any] = {
    "default": dj_database_url.parse(
        env.text("DATABASE_URL", f"sqlite:///{DATA_DIR / 'takeback.sqlite3'}"),
        conn_max_age=60,
        conn_health_checks=True,
    ),
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # IMMEDIATE takes the write lock at BEGIN, so two writers wait for each other instead of failing at COMMIT.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;",
    }
    DATABASES["default"]["TEST"] = {"NAME": DATA_DIR / "test.sqlite3"}  # in memory there is no WAL and no second writer
else:
    # psycopg binds values on the client in Python, byte by byte; the server takes them as they are.
    DATABASES["default"]["OPTIONS"] = {"server_side_binding": True} | DATABASES["default"].get("OPTIONS", {})
    # What is asked for the sixth time is not parsed again; a pooler may give each transaction another connection.
    DATABASES["default"]["OPTIONS"] |= {"prepare_threshold": 5 if env.flag("TAKEBACK_PREPARE", default=True) else None}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# -- People -------------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = env.text("TAKEBACK_USER_MODEL", "auth.User")  # an app of TAKEBACK_APPS may bring one of its own
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "actions"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = env.number("TAKEBACK_LOGIN_TRIES", 5, least=1)
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]  # a stranger's failures never lock the person out elsewhere
AXES_VERBOSE = False
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "config.views.locked_out"
CSRF_FAILURE_VIEW = "config.errors.csrf_failure"

# -- API ----------------------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "sideeffects.api.auth.AgentTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["config.access.TablePermission"],
    "DEFAULT_PARSER_CLASSES": ["sideeffects.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "config.errors.problem",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Takeback",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "DESCRIPTION": "What AI agents did, and how it is taken back. Refusals are problems (RFC 9457).",
    "LICENSE": {"name": "MIT"},
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["config.access.TablePermission"],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "sideeffects.api.schema.add_common_problems",
    ],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "ENUM_NAME_OVERRIDES": {
        "BatchState": ["working", "stopped", "finished"],
        "Outcome": [outcome.value for outcome in transitions.Outcome],
        "CallState": [state.value for state in transitions.GroupState],
        "EffectState": [state.value for state in transitions.EffectState],
        "Resolution": ["adopt", "split", "dismiss"],
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 12 * 1024 * 1024

# -- Background work (the row is the queue; Celery only wakes workers up) -------------------------------------------
CELERY_BROKER_URL = env.text("TAKEBACK_BROKER", "memory://localhost/")

# -- Languages, time, static files --------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "templates" / "locale"]
TIME_ZONE = env.text("TAKEBACK_TIME_ZONE", "UTC")
USE_TZ = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "templates" / "static"]
WHITENOISE_USE_FINDERS = True

# -- Takeback -----------------------------------------------------------------------------------------------------
AUDIT_LOG = "demo" if DEMO else "main"  # demo data has a log of its own
CHECKPOINT_DIR = env.folder("TAKEBACK_CHECKPOINTS", DATA_DIR / "checkpoints")  # where signed heads are published
CHECKPOINT_HOOK = env.text("TAKEBACK_CHECKPOINT_HOOK")  # a command that takes each of them somewhere else
LOG_ORIGIN = env.text("TAKEBACK_LOG_ORIGIN")  # how checkpoints name this deployment, read before the first one only
TRASH_DAYS = env.number("TAKEBACK_TRASH_DAYS", 30, least=1)
CALL_LEASE_SECONDS = env.number("TAKEBACK_CALL_LEASE_SECONDS", 60, least=1)  # how long a call executed here may run
PLANS_MUST_BE_SIGNED = env.flag("TAKEBACK_PLANS_MUST_BE_SIGNED")  # only by a key registered for its author
AGENT_REVOKES_PER_HOUR = env.number("TAKEBACK_AGENT_REVOKES_PER_HOUR", 20)

# -- Targets: other systems that are asked to undo ------------------------------------------------------------------
PUBLIC_URL = env.text("TAKEBACK_URL", "http://127.0.0.1:8000").rstrip("/")  # issuer of tokens; where /.well-known is
KEY_SECRETS = env.secret("TAKEBACK_KEY_SECRET", DATA_DIR / "keys" / "key_secret").split(",")  # the first encrypts
TARGET_HOSTS = frozenset(env.words("TAKEBACK_TARGET_HOSTS", []))  # exact host:port that may be called though private
TARGET_SECONDS = env.number("TAKEBACK_TARGET_SECONDS", 10, least=1)  # all that one call may take
_LEAST_LEASE = 3 * TARGET_SECONDS  # what is claimed may wait for one call to end before its own begins
REQUEST_LEASE_SECONDS = env.number("TAKEBACK_REQUEST_LEASE_SECONDS", max(60, _LEAST_LEASE), least=_LEAST_LEASE)
REQUEST_TRIES = env.number("TAKEBACK_REQUEST_TRIES", 8, least=1)  # then a person is needed
RETRY_SECONDS = env.number("TAKEBACK_RETRY_SECONDS", 5, least=1)  # before the second try; doubled for each further one
RETRY_MOST_SECONDS = env.number("TAKEBACK_RETRY_MOST_SECONDS", 3600, least=1)  # nobody makes us wait longer
CALLS_AT_ONCE = env.number("TAKEBACK_CALLS_AT_ONCE", 64, least=1)  # to all targets together, in one process
STALE_MINUTES = env.number("TAKEBACK_STALE_MINUTES", 60, least=1)  # where neither tool nor target says otherwise
METRICS_TOKEN = env.text("TAKEBACK_METRICS_TOKEN")  # asked for at /metrics where it is set

# -- Mail -----------------------------------------------------------------------------------------------------------
EMAIL_HOST = env.text("TAKEBACK_SMTP_HOST", "localhost")
EMAIL_PORT = env.number("TAKEBACK_SMTP_PORT", 25, least=1)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = env.text("TAKEBACK_SMTP_USER"), env.text("TAKEBACK_SMTP_PASSWORD")
EMAIL_USE_TLS = env.flag("TAKEBACK_SMTP_TLS")
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = env.text("TAKEBACK_MAIL_FROM", "takeback@localhost")
# What goes to made-up people is kept as files, so that it neither leaves nor covers what `up` has printed.
EMAIL_FILE_PATH = DATA_DIR / "mail"
_BACKEND = "filebased" if DEMO else "smtp" if env.text("TAKEBACK_SMTP_HOST") else "console"
EMAIL_BACKEND = f"django.core.mail.backends.{_BACKEND}.EmailBackend"

# -- Logs ---------------------------------------------------------------------------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env.text("TAKEBACK_LOG_LEVEL", "WARNING")},
}
