//! The functions of iceoryx2 that the adapter needs, as C functions. shim.hpp declares and documents them. Each end has
//! its own node, and is used by one thread at a time.

use core::ffi::{c_char, CStr};
use core::fmt::Debug;
use core::mem::MaybeUninit;
use core::time::Duration;

use iceoryx2::config::Config;
use iceoryx2::port::listener::{Listener, ListenerWaitError};
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::port::BackpressureAction;
use iceoryx2::prelude::*;
use iceoryx2::sample::Sample;
use iceoryx2::sample_mut_uninit::SampleMutUninit;
use iceoryx2::service::port_factory::publish_subscribe;

type Octets = publish_subscribe::PortFactory<ipc::Service, [u8], ()>;

/// The description of a channel, the same on both sides. Must match tacholog_iox2_topic in shim.hpp.
#[repr(C)]
pub struct Topic {
    root: *const c_char,
    prefix: *const c_char,
    name: *const c_char,
    max_bytes: usize,
    subscribers: usize,
    queue: usize,
    history: usize,
    discards: bool,
    sleeps: bool,
    longest_wait_ms: u64,
}

/// The buffer for the text of an error.
#[repr(C)]
pub struct ErrorText {
    text: *mut c_char,
    capacity: usize,
}

impl ErrorText {
    fn write(&self, problem: &str) {
        let bytes = problem.as_bytes();
        let length = bytes.len().min(self.capacity - 1);
        // SAFETY: `text` points to `capacity` bytes, and `capacity` is not 0.
        unsafe {
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.text.cast(), length);
            *self.text.add(length) = 0;
        }
    }
}

fn said(operation: &str) -> impl Fn(&dyn Debug) -> String + '_ {
    move |error| format!("{operation}: {error:?}")
}

pub struct PublisherEnd {
    // The fields are in the order in which they must be dropped.
    loaned: Option<SampleMutUninit<ipc::Service, [MaybeUninit<u8>], ()>>,
    publisher: Publisher<ipc::Service, [u8], ()>,
    notifier: Option<Notifier<ipc::Service>>,
    octets: Octets,
    _node: Node<ipc::Service>,
}

pub struct SubscriberEnd {
    taken: Option<Sample<ipc::Service, [u8], ()>>,
    subscriber: Subscriber<ipc::Service, [u8], ()>,
    listener: Option<Listener<ipc::Service>>,
    octets: Octets,
    _node: Node<ipc::Service>,
}

fn text<'a>(words: *const c_char) -> &'a str {
    // SAFETY: the adapter passes zero-terminated strings of letters, digits and '-'.
    unsafe { CStr::from_ptr(words) }.to_str().unwrap_or("")
}

fn node(topic: &Topic) -> Result<Node<ipc::Service>, String> {
    // The log is disabled, because perftest uses standard output and standard error. Errors are returned instead.
    set_log_level(LogLevel::Fatal);
    let mut config = Config::default();
    let root = Path::new(text(topic.root).as_bytes()).map_err(|e| said("folder")(&e))?;
    config.global.set_root_path(&root);
    config.global.prefix = FileName::new(text(topic.prefix).as_bytes()).map_err(|e| said("prefix")(&e))?;
    NodeBuilder::new()
        .config(&config)
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<ipc::Service>()
        .map_err(|e| said("node")(&e))
}

fn octets(node: &Node<ipc::Service>, topic: &Topic) -> Result<Octets, String> {
    let name = ServiceName::new(text(topic.name)).map_err(|e| said("name")(&e))?;
    // The same alignment as for a struct of 64-bit numbers.
    let alignment = Alignment::new(8).expect("a power of two");
    node.service_builder(&name)
        .publish_subscribe::<[u8]>()
        .payload_alignment(alignment)
        .max_subscribers(topic.subscribers)
        .subscriber_max_buffer_size(topic.queue)
        .history_size(topic.history)
        .enable_safe_overflow(topic.discards)
        .open_or_create()
        .map_err(|e| said("service")(&e))
}

fn new_publisher(topic: &Topic) -> Result<PublisherEnd, String> {
    let node = node(topic)?;
    let octets = octets(&node, topic)?;
    let longest_wait = Duration::from_millis(topic.longest_wait_ms);
    let publisher = octets
        .publisher_builder()
        .initial_max_slice_len(topic.max_bytes)
        .backpressure_strategy(BackpressureStrategy::RetryUntilDelivered)
        .set_backpressure_handler(move |info| {
            if info.elapsed_time < longest_wait {
                BackpressureAction::FollowBackpressureyStrategy
            } else {
                BackpressureAction::DiscardDataAndFail
            }
        })
        .create()
        .map_err(|e| said("publisher")(&e))?;
    let mut notifier = None;
    if topic.sleeps {
        let name = ServiceName::new(text(topic.name)).map_err(|e| said("name")(&e))?;
        let event = node.service_builder(&name).event().open_or_create().map_err(|e| said("event service")(&e))?;
        notifier = Some(event.notifier_builder().create().map_err(|e| said("notifier")(&e))?);
    }
    Ok(PublisherEnd { loaned: None, publisher, notifier, octets, _node: node })
}

fn new_subscriber(topic: &Topic) -> Result<SubscriberEnd, String> {
    let node = node(topic)?;
    let octets = octets(&node, topic)?;
    let mut listener = None;
    if topic.sleeps {
        let name = ServiceName::new(text(topic.name)).map_err(|e| said("name")(&e))?;
        let event = node.service_builder(&name).event().open_or_create().map_err(|e| said("event service")(&e))?;
        listener = Some(event.listener_builder().create().map_err(|e| said("listener")(&e))?);
    }
    let subscriber = octets.subscriber_builder().create().map_err(|e| said("subscriber")(&e))?;
    Ok(SubscriberEnd { taken: None, subscriber, listener, octets, _node: node })
}

fn boxed<End>(end: Result<End, String>, error: &ErrorText) -> *mut End {
    match end {
        Ok(end) => Box::into_raw(Box::new(end)),
        Err(problem) => {
            error.write(&problem);
            core::ptr::null_mut()
        }
    }
}

/// # Safety
/// See shim.hpp.
#[no_mangle]
pub unsafe extern "C" fn tacholog_iox2_advertise(topic: &Topic, error: &ErrorText) -> *mut PublisherEnd {
    boxed(new_publisher(topic), error)
}

/// # Safety
/// See shim.hpp.
#[no_mangle]
pub unsafe extern "C" fn tacholog_iox2_publisher_close(end: *mut PublisherEnd) {
    drop(unsafe { Box::from_raw(end) });
}

#[no_mangle]
pub extern "C" fn tacholog_iox2_subscribers(end: &PublisherEnd) -> usize {
    end.octets.dynamic_config().number_of_subscribers()
}

#[no_mangle]
pub extern "C" fn tacholog_iox2_loan(end: &mut PublisherEnd, bytes: usize, error: &ErrorText) -> *mut u8 {
    match end.publisher.loan_slice_uninit(bytes) {
        Ok(sample) => end.loaned.insert(sample).payload_mut().as_mut_ptr().cast(),
        Err(problem) => {
            error.write(&said("loan")(&problem));
            core::ptr::null_mut()
        }
    }
}

#[no_mangle]
pub extern "C" fn tacholog_iox2_abandon(end: &mut PublisherEnd) {
    end.loaned = None;
}

#[no_mangle]
pub extern "C" fn tacholog_iox2_publish(end: &mut PublisherEnd, error: &ErrorText) -> i64 {
    let Some(sample) = end.loaned.take() else {
        error.write("publish: nothing is loaned");
        return -1;
    };
    // SAFETY: the rig has written the whole sample.
    let reached = match unsafe { sample.assume_init() }.send() {
        Ok(reached) => reached,
        Err(problem) => {
            error.write(&said("publish")(&problem));
            return -1;
        }
    };
    if let Some(notifier) = &end.notifier {
        if let Err(problem) = notifier.notify() {
            error.write(&said("notify")(&problem));
            return -1;
        }
    }
    reached as i64
}

/// # Safety
/// See shim.hpp.
#[no_mangle]
pub unsafe extern "C" fn tacholog_iox2_subscribe(topic: &Topic, error: &ErrorText) -> *mut SubscriberEnd {
    boxed(new_subscriber(topic), error)
}

/// # Safety
/// See shim.hpp.
#[no_mangle]
pub unsafe extern "C" fn tacholog_iox2_subscriber_close(end: *mut SubscriberEnd) {
    drop(unsafe { Box::from_raw(end) });
}

#[no_mangle]
pub extern "C" fn tacholog_iox2_publishers(end: &SubscriberEnd) -> usize {
    end.octets.dynamic_config().number_of_publishers()
}

#[no_mangle]
pub extern "C" fn tacholog_iox2_connect(end: &SubscriberEnd, error: &ErrorText) -> bool {
    match end.subscriber.has_samples() {
        Ok(_) => true,
        Err(problem) => {
            error.write(&said("connect")(&problem));
            false
        }
    }
}

#[no_mangle]
pub extern "C" fn tacholog_iox2_take(
    end: &mut SubscriberEnd,
    bytes: &mut *const u8,
    length: &mut usize,
    error: &ErrorText,
) -> i32 {
    match end.subscriber.receive() {
        Ok(Some(sample)) => {
            let payload = end.taken.insert(sample).payload();
            *bytes = payload.as_ptr();
            *length = payload.len();
            1
        }
        Ok(None) => 0,
        Err(problem) => {
            error.write(&said("take")(&problem));
            -1
        }
    }
}

#[no_mangle]
pub extern "C" fn tacholog_iox2_release(end: &mut SubscriberEnd) {
    end.taken = None;
}

/// A wait of the library itself ends only at a tick of the kernel's timer, up to 8 ms late. Its descriptor can be
/// waited for to the microsecond.
#[no_mangle]
pub extern "C" fn tacholog_iox2_descriptor(end: &SubscriberEnd) -> i32 {
    // SAFETY: the descriptor is only waited for; it belongs to the listener, which lives as long as this end.
    end.listener.as_ref().map_or(-1, |listener| unsafe { listener.file_descriptor().native_handle() })
}

#[no_mangle]
pub extern "C" fn tacholog_iox2_clear(end: &SubscriberEnd, error: &ErrorText) -> bool {
    let Some(listener) = &end.listener else {
        error.write("clear: this side polls");
        return false;
    };
    match listener.try_wait(|_| {}) {
        Ok(_) | Err(ListenerWaitError::InterruptSignal) => true,
        Err(problem) => {
            error.write(&said("clear")(&problem));
            false
        }
    }
}
