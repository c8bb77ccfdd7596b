export interface Card {
  /** The resource name: `<vendor>.com/gpu-<model>`. */
  readonly kind: string
  /** What CUDA_VISIBLE_DEVICES calls it; unique on the machine. */
  readonly index: number
  /** Declared, not there: it can be counted and handed out, not computed on. */
  readonly simulated: boolean
  /** Of a real card: what names it whatever its index is. */
  readonly uuid?: string
  /** The number in the name of its device (`/dev/nvidia0`), where the driver tells; not always its index. */
  readonly minor?: number
  readonly product?: string
  readonly memoryMebibytes?: number
}
