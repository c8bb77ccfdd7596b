/** In the style of KubeAI's catalog: each of its engines, kinds of address and of profile, and every field once. */
export const kubeAiModels = `
apiVersion: kubeai.org/v1
kind: Model
metadata:
  name: llama-405b-h100
  labels: { team: research, app.kubernetes.io/managed-by: Helm }
  annotations: { meta.helm.sh/release-name: models, note: ours }
spec:
  features: [TextGeneration]
  owner: meta
  url: hf://neuralmagic/Llama-405B-FP8
  engine: VLLM
  args:
    - --max-model-len=65536
    - --tensor-parallel-size=8
    - --served-model-name
    - other
    - --port=8000
    - --enable-prefix-caching
  env: { VLLM_USE_V1: "1" }
  minReplicas: 0
  maxReplicas: 4
  targetRequests: 500
  scaleDownDelaySeconds: 60
  resourceProfile: nvidia-gpu-h100:8
---
apiVersion: kubeai.org/v1
kind: Model
metadata: { name: gemma, namespace: chat }
spec:
  features: [TextGeneration, TextEmbedding]
  url: ollama://gemma3:12b
  engine: OLlama
  args: [--verbose]
  resourceProfile: cpu:2
  autoscalingDisabled: true
  replicas: 3
---
apiVersion: kubeai.org/v1
kind: Model
metadata: { name: everything, namespace: chat }
spec:
  features: [TextGeneration]
  url: pvc://weights/llama/
  engine: VLLM
  resourceProfile: google-tpu-v5e-1x1:1
  minReplicas: 2
  cacheProfile: filestore
  image: vllm/vllm-openai:v1
  priorityClassName: high
  envFrom: [{ secretRef: { name: keys } }]
  adapters: [{ name: sql, url: hf://someone/sql-lora }]
  files: [{ path: /config/template.jinja, content: "{{ x }}" }]
  loadBalancing: { strategy: PrefixHash }
  speculation: true
---
apiVersion: v1
kind: Service
metadata: { name: dev }
---
apiVersion: v1
kind: List
items:
  - apiVersion: kubeai.org/v1
    kind: Model
    metadata: { name: whisper }
    spec:
      features: [SpeechToText]
      url: hf://Systran/faster-whisper-medium.en
      engine: FasterWhisper
      resourceProfile: cpu:1
  - apiVersion: kubeai.org/v1
    kind: Model
    metadata: { name: broken }
    spec: { engine: VLLM }
`
