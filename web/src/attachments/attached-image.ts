/** A picture that goes with a question. */
export interface AttachedImage {
  readonly name: string
  /** A `data:` URL; empty for one that is no longer kept. */
  readonly url: string
}

export const MAX_IMAGES = 4
export const MAX_FILE_BYTES = 25 * 1024 * 1024
/** Models scale pictures down to about this, so more would be sent for nothing. */
export const MAX_SIDE_PX = 1_024
/** Of the URL of a picture that was scaled down. */
export const MAX_URL_CHARACTERS = 2_000_000
export const ACCEPTED_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const

const IMAGE_URL = /^data:image\/(?:png|jpeg|webp);base64,[\w+/]+={0,2}$/

/** Whether a stored URL is that of a picture, and nothing else that a browser could load. */
export function isImageUrl(url: string): boolean {
  return url.length <= MAX_URL_CHARACTERS && IMAGE_URL.test(url)
}

/** The size of a picture whose longer side is at most `most`; small ones stay as they are. */
export function scaledSize(width: number, height: number, most = MAX_SIDE_PX): { width: number; height: number } {
  const scale = Math.min(1, most / Math.max(width, height, 1))
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}
