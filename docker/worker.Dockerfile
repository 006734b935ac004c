# One worker with C and C++ compilers and NVRTC. Build from the repository's root:
# docker build -f docker/worker.Dockerfile .
FROM python:3.12-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PATH=/opt/kernelcat/bin:$PATH
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc g++ libc6-dev \
 && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/kernelcat && useradd --system --create-home --home-dir /var/lib/kernelcat kernelcat
WORKDIR /app
COPY requirements-cuda.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements-cuda.lock
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e .
USER kernelcat
VOLUME /var/lib/kernelcat
CMD ["kernelcat", "worker"]
