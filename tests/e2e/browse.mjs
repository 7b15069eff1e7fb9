// SPDX-License-Identifier: BSD-2-Clause
// browse.mjs: opens a page in headless Chromium, and asks it and acts on it as a person would.
/*
 *	node browse.mjs ADDRESS STEP...
 *
 *	eval CODE	prints the value, as JSON
 *	click CODE	of two coordinates; double CODE likewise
 *	drag CODE	of four: from, to
 *	key NAME	presses it
 *	dark		the system prefers dark colours from now on
 *	size W H	of the window
 *	shot FILE	a picture of what is seen, PNG
 *
 * Fails if the page throws or asks for anything beside itself, and if all takes longer
 * than a minute and a half.
 */
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';

const [address, ...steps] = process.argv.slice(2);
const home = mkdtempSync(tmpdir() + '/gcprof-browser-');
const browser = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
	'--disable-component-update', '--user-data-dir=' + home, '--remote-debugging-pipe', 'about:blank'],
	{stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: {...process.env, HOME: home}});
const faults = [], waiting = new Map();
let last = 0, session, text = '', loaded;

/* Its processes end by themselves, unless it hangs. */
function finish() {
	browser.once('exit', () => {
		for (const fault of faults) console.log('fault: ' + fault);
		process.exitCode = faults.length ? 1 : 0;
		clearTimeout(limit);
		setTimeout(() => rmSync(home, {recursive: true, force: true, maxRetries: 20, retryDelay: 100}), 100);
	});
	session = undefined;
	ask('Browser.close').catch(() => {});
	setTimeout(() => browser.kill('SIGKILL'), 5000).unref();
}
const limit = setTimeout(() => { faults.push('took longer than 90 s'); finish(); }, 90000);

function ask(method, params = {}) {
	const id = ++last;
	browser.stdio[3].write(JSON.stringify({id, method, params, sessionId: session}) + '\0');
	return new Promise((resolve, reject) => waiting.set(id, {resolve, reject}));
}
function take(message) {
	const {method, params} = message;
	if (message.id) {
		const {resolve, reject} = waiting.get(message.id);
		waiting.delete(message.id);
		if (message.error) reject(new Error(message.error.message));
		else resolve(message.result);
	} else if (method === 'Runtime.exceptionThrown') faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
	else if (method === 'Log.entryAdded' && params.entry.level === 'error') faults.push(params.entry.text);
	else if (method === 'Network.requestWillBeSent' && params.request.url.split('#')[0] !== address.split('#')[0] && !params.request.url.startsWith('data:'))
		faults.push('asks for ' + params.request.url);
	else if (method === 'Page.javascriptDialogOpening') faults.push('opens a dialog: ' + params.message);
	else if (method === 'Page.loadEventFired') loaded?.();
}
browser.stdio[4].on('data', piece => {
	const parts = (text + piece).split('\0');
	text = parts.pop();
	parts.forEach(part => take(JSON.parse(part)));
});

async function value(expression) {
	const {result, exceptionDetails} = await ask('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
	if (exceptionDetails) throw new Error(expression + ': ' + (exceptionDetails.exception?.description ?? exceptionDetails.text));
	return result.value;
}
const settle = () => value('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))');
const mouse = (type, x, y, clickCount) => ask('Input.dispatchMouseEvent', {type, x, y, clickCount, button: 'left', buttons: type === 'mouseReleased' ? 0 : 1});

const acts = {
	eval: async code => console.log(JSON.stringify(await value(code))),
	click: async (code, times = 1) => {
		const [x, y] = await value(code);
		for (let i = 1; i <= times; i++) {
			await mouse('mousePressed', x, y, i);
			await mouse('mouseReleased', x, y, i);
		}
	},
	double: code => acts.click(code, 2),
	drag: async code => {
		const [x, y, toX, toY] = await value(code);
		await mouse('mousePressed', x, y, 1);
		for (let i = 1; i <= 4; i++) await mouse('mouseMoved', x + (toX - x) * i / 4, y + (toY - y) * i / 4, 0);
		await mouse('mouseReleased', toX, toY, 1);
	},
	key: async key => {
		const params = {key, code: key, text: key === 'Enter' ? '\r' : key.length === 1 ? key : undefined};
		await ask('Input.dispatchKeyEvent', {type: 'keyDown', ...params});
		await ask('Input.dispatchKeyEvent', {type: 'keyUp', ...params});
	},
	dark: () => ask('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: 'dark'}]}),
	size: code => {
		const [width, height, deviceScaleFactor = 1] = code.split(' ').map(Number);
		return ask('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor, mobile: false});
	},
	shot: async file => writeFileSync(file, Buffer.from((await ask('Page.captureScreenshot')).data, 'base64')),
};

try {
	const {targetInfos} = await ask('Target.getTargets');
	const {sessionId} = await ask('Target.attachToTarget', {targetId: targetInfos.find(t => t.type === 'page').targetId, flatten: true});
	session = sessionId;
	for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await ask(domain + '.enable');
	const load = new Promise(done => { loaded = done; });
	await ask('Page.navigate', {url: address});
	await load;
	for (let i = 0; i < steps.length; i++) {
		const act = steps[i];
		await acts[act](act === 'dark' ? '' : steps[++i]);
		await settle();
	}
	finish();
} catch (error) {
	faults.push(error.message);
	finish();
}
