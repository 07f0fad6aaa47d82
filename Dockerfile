# One image for web, worker and beat; compose.yaml says which command each runs.
FROM python:3.13-slim

ENV PYTHONUNBUFFERED=1 TAKEBACK_DATA=/data
WORKDIR /app
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes --requirement requirements.lock
COPY . .
RUN useradd --system takeback && install -d -o takeback /data
USER takeback
VOLUME /data
EXPOSE 8000

# waitress: pure Python, threads, no fork; requests here are short, and it is what `up` serves with.
CMD ["waitress-serve", "--listen=0.0.0.0:8000", "--threads=8", "config.wsgi:application"]
