import { ACCEPTED_TYPES, isImageUrl, MAX_FILE_BYTES, scaledSize, type AttachedImage } from './attached-image.ts'

/** What is wrong with a file, in a sentence for its owner. */
export class NotAttachable extends Error {}

/** Reads a picture and makes it small enough to be sent and kept. Throws NotAttachable. */
export async function readImage(file: File): Promise<AttachedImage> {
  const name = file.name.slice(0, 100) || 'picture'
  if (!ACCEPTED_TYPES.some((type) => type === file.type)) {
    throw new NotAttachable(`${name} is not a picture that can be sent: PNG, JPEG, WebP and GIF can.`)
  }
  if (file.size > MAX_FILE_BYTES) {
    throw new NotAttachable(`${name} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB.`)
  }
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new NotAttachable(`${name} cannot be read: the file may be damaged.`)
  })
  try {
    return { name, url: scaledUrl(bitmap, name) }
  } finally {
    bitmap.close()
  }
}

function scaledUrl(bitmap: ImageBitmap, name: string): string {
  const canvas = document.createElement('canvas')
  Object.assign(canvas, scaledSize(bitmap.width, bitmap.height))
  const context = canvas.getContext('2d')
  if (context === null) throw new NotAttachable(`${name} cannot be read by this browser.`)
  // JPEG has no transparency, which would become black.
  context.fillStyle = '#fff'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  const url = canvas.toDataURL('image/jpeg', 0.82)
  if (!isImageUrl(url)) throw new NotAttachable(`${name} is too large even when it is scaled down.`)
  return url
}
