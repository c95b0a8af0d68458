// SPDX-License-Identifier: MIT
// Threads of node that wait for each other: handoffs.js KIND COUNT

const workers = require('worker_threads');
const zlib = require('zlib');

// Two workers that send a message back and forth with the main thread.
function messages(count) {
	for (let n = 0; n < 2; n++) {
		const worker = new workers.Worker(__filename);
		let left = count;
		worker.on('message', () => {
			if (--left)
				worker.postMessage(left);
			else
				worker.terminate();
		});
		worker.postMessage(left);
	}
}

// The pool of 4 threads that comes with node compresses small pieces.
function pool(count) {
	const data = Buffer.alloc(3000, 'a small piece of text ');
	let begun = 0;
	function next(error) {
		if (error)
			throw error;
		if (begun++ < count)
			zlib.deflate(data, next);
	}
	for (let n = 0; n < 8; n++)
		next(null);
}

if (workers.isMainThread) {
	const kinds = { messages: messages, pool: pool };
	kinds[process.argv[2]](Number(process.argv[3]));
} else {
	workers.parentPort.on('message', (message) => {
		workers.parentPort.postMessage(message);
	});
}
