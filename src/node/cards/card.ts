export interface Card {
  /** The resource name: `<vendor>.com/gpu-<model>`. */
  readonly kind: string
  /** The number in `CUDA_VISIBLE_DEVICES`; unique on the machine. */
  readonly index: number
  /** A card that was only declared: it is counted and handed out, but nothing can compute on it. */
  readonly simulated: boolean
  /** Identifies a real card even when its index changes. */
  readonly uuid?: string
  /** The number in its device name (`/dev/nvidia0`), if the driver tells it; not always the same as the index. */
  readonly minor?: number
  readonly product?: string
  readonly memoryMebibytes?: number
}
