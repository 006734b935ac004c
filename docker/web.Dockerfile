# The web server. Build from the repository's root: docker build -f docker/web.Dockerfile .
FROM node:22-slim AS frontend
WORKDIR /build
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
RUN npm run build

FROM python:3.12-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PATH=/opt/kernelcat/bin:$PATH
RUN python -m venv /opt/kernelcat && useradd --system --create-home --home-dir /var/lib/kernelcat kernelcat
WORKDIR /app
COPY requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e .
COPY --from=frontend /build/dist frontend/dist
USER kernelcat
VOLUME /var/lib/kernelcat
EXPOSE 8000
CMD ["python", "-m", "uvicorn", "webapp.config.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--proxy-headers"]
