import { SAMPLE_RATE, wavOf } from './wav.ts'

/** Nobody dictates a message for longer, and a forgotten microphone must not record for ever. */
const MAX_RECORDING_MS = 5 * 60_000

/** Whether this page may ask for the microphone: browsers allow it over https and on localhost only. */
export function canRecord(): boolean {
  return globalThis.isSecureContext && 'mediaDevices' in navigator && 'MediaRecorder' in globalThis
}

/** One recording of the microphone. `onEnd` is called when it ends by itself, since it has become too long. */
export class Recording {
  readonly #stream: MediaStream
  readonly #recorder: MediaRecorder
  readonly #pieces: Blob[] = []
  readonly #ended: Promise<void>
  readonly #limit: ReturnType<typeof setTimeout>

  private constructor(stream: MediaStream, onEnd: () => void) {
    this.#stream = stream
    this.#recorder = new MediaRecorder(stream)
    this.#recorder.addEventListener('dataavailable', ({ data }) => void this.#pieces.push(data))
    this.#ended = new Promise((resolve) => {
      this.#recorder.addEventListener('stop', () => resolve(), { once: true })
    })
    this.#recorder.start()
    this.#limit = setTimeout(onEnd, MAX_RECORDING_MS)
  }

  static async start(onEnd: () => void): Promise<Recording> {
    return new Recording(await navigator.mediaDevices.getUserMedia({ audio: true }), onEnd)
  }

  /** Ends the recording, and gives it as a WAV file. */
  async finish(): Promise<Blob> {
    this.cancel()
    await this.#ended
    const recorded = await new Blob(this.#pieces, { type: this.#recorder.mimeType }).arrayBuffer()
    return new Blob([wavOf(await samplesOf(recorded))], { type: 'audio/wav' })
  }

  /** Ends it, and lets go of the microphone. */
  cancel(): void {
    clearTimeout(this.#limit)
    if (this.#recorder.state !== 'inactive') this.#recorder.stop()
    for (const track of this.#stream.getTracks()) track.stop()
  }
}

/** Decoding in a context of this rate also converts to it. */
async function samplesOf(recorded: ArrayBuffer): Promise<Float32Array> {
  const decoded = await new OfflineAudioContext(1, 1, SAMPLE_RATE).decodeAudioData(recorded)
  const mixed = new OfflineAudioContext(1, Math.max(1, decoded.length), SAMPLE_RATE)
  const source = mixed.createBufferSource()
  source.buffer = decoded
  source.connect(mixed.destination)
  source.start()
  return (await mixed.startRendering()).getChannelData(0)
}
