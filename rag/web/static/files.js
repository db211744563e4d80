// What the reader picked or dropped -> uploads that the server takes: captions and what belongs to them go together.

/** The files of a drop, folders opened: [{ file, folder }]. Hidden files are left out. Call within the event. */
export async function droppedFiles(transfer) {
  const items = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile()).filter(Boolean);
  const found = [];
  for (const item of items) {
    if (item instanceof File) found.push({ file: item, folder: "" });
    else await collect(item, "", found);
  }
  return found;
}

async function collect(entry, folder, found) {
  if (entry.name.startsWith(".")) return;
  if (entry.isFile) {
    found.push({ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), folder });
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    // A folder is listed in parts; an empty one is the end.
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return;
    for (const child of part) await collect(child, `${folder}${entry.name}/`, found);
  }
}

/**
 * Packs files into uploads within `limits` ({ files, bytes }). Those with the same beginning of their name in the same
 * folder (talk.en.vtt, talk.mp3, talk.info.json) stay together, and no upload holds two of one name. Returns
 * { uploads: [[File]], tooLarge: [File] }.
 */
export function packed(found, limits) {
  const groups = new Map();
  for (const { file, folder } of found) {
    const key = `${folder}\n${file.name.split(".")[0].toLowerCase()}`;
    groups.set(key, [...(groups.get(key) ?? []), file]);
  }
  const uploads = [];
  const tooLarge = [];
  for (const group of groups.values()) {
    if (size(group) > limits.bytes || group.length > limits.files) {
      tooLarge.push(...group);
      continue;
    }
    const fits = (upload) =>
      upload.length + group.length <= limits.files &&
      size(upload) + size(group) <= limits.bytes &&
      !upload.some(({ name }) => group.some((file) => file.name === name));
    const upload = uploads.find(fits);
    if (upload) upload.push(...group);
    else uploads.push([...group]);
  }
  return { uploads, tooLarge };
}

const size = (files) => files.reduce((sum, file) => sum + file.size, 0);
